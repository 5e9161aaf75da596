#!/bin/sh
# Whether branches and addresses depend on the true codes: `trace.sh <program>`, the program that scripts/trace.rs
# becomes. Under valgrind's lackey every instruction and every address is listed. For the families of which
# docs/explanation/threat_model.md says "no" twice, the lists must be the same for different columns under the same
# key. That the lists can tell is shown by a family that looks up the code.
set -u
program=$1
failed=0

listed() {
    setarch -R env -i BISTOCHASTIC_THREADS=1 BISTOCHASTIC_CPU="$level" \
        valgrind --quiet --tool=lackey --trace-mem=yes --log-fd=9 "$program" "$1" "$2" 9>&1 >/dev/null |
        awk -v mark="$mark,1" '($1 == "S" || $1 == "M") && $2 == mark { on = !on; next } on' | cksum
}

# valgrind has nothing above AVX2.
for level in plain base avx2; do
    for family in randomized_response circulant reflected geometric uniform t_transform identity permutation; do
        mark=$(setarch -R env -i valgrind --quiet --tool=none "$program" "$family" 1)
        one=$(listed "$family" 1)
        again=$(listed "$family" 1)
        two=$(listed "$family" 2)
        three=$(listed "$family" 3)
        case $one in
        "4294967295 0") echo "$family, $level: nothing was listed" && failed=1 ;;
        esac
        if [ "$one" != "$again" ]; then
            echo "$family, $level: two runs of one column differ" && failed=1
        elif [ "$family" = permutation ]; then
            [ "$one" = "$two" ] && echo "$family, $level: a column that must show does not" && failed=1
        elif [ "$one" != "$two" ] || [ "$one" != "$three" ]; then
            echo "$family, $level: depends on the true codes" && failed=1
        fi
    done
done
exit $failed
