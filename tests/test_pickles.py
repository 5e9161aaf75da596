"""Results that were pickled by version 0.1.0, before their files moved, and those of now."""

from __future__ import annotations

import base64
import pickle
import zlib
from dataclasses import replace

import pytest

import bistochastic as bs
from bistochastic.moved import MOVED

# What `pickle.dumps` of protocol 4 gave then, compressed.
PICKLES = {
    "Comparison": (
        "c-"
        "n<j&ui2`7_D}<+tzw<*B?;CL0em;U3ZJEtq46xEwTuro)lRo*~!k(WG2i^+N~f|#2=Ko8Smm%{0DmU5A"
        "Yz~6?#xFy;!U$Rlj7@*4PvSA(?O9dwJh{Z+9v8yg%O&U#4g=rG-tg(#$SP;tQ!m(|cKXK9)=g9zF}tJP"
        "7ZHrl;;p;V_q|(3DcFq#l~W_2ez#44W<wYsp%nIh115Z6PDPBv6zQ-"
        "V`O~4dJnSq)~^mFSsJHL{331taX~)93ejVa3r=hgZ<ESUrF9UVYzVk`^>8kgPqHTc5k`I;f*jzNfd~$m"
        "<#aQ{@@AhLV<%nXla;snfwea7I)0&IQGD0&SDzAm7m9MK*HJSwUz$$vp-"
        "f$m(o}V(GF>W3jlJV0pBYeR4tEBo}Zcs1B;$$tI?AnL^KZR!0hy@_3h4!mm74Do~A?Q80HAi6N#Gy33w"
        "t+36f$#rRhBjLMmN{jSP(vlu_j(s+6ZDDr4126q`=*``Ub4xPiwrB#yRs{-"
        "bip3v__pI^&LzFx}|zW3A0kH%m*$6RnOksoTarwwYes4W*MQWT_btr5JBUX|u4!+%49Z^5*SxZ$4+T4t"
        "Tg#cL|<@BaFdc-?zrsS1)9Ok2C`eVbcVXmdRUxn{-"
        "iJpjeZwi6l`@X>A88BL9xBUkUkC`^SVTNE6ppNXtM|SUFO7$)cJTJJ=wcB`w#hAX(d&*+2?6wl}W$H*U"
        "vhtuqtd7khF7m%{*dpST%N6iW!G6Pbs6#@(qA6mS+L0r`>%`S0n-"
        "rf4u5)ShO3GY4~++uKr)EqH@%M{MKa)is7*XD47DW=iXp2zVm~|NMCA+PlNI=%C3b#UX>Ja2pCS9?!En"
        "I)cVV5&Z2y#Tn($1lZSbKMIvq{sYCM`t$"
    ),
    "Entry": (
        "c-m`VnOegD0X-"
        "r~nZ+gf$r*{oC7H>31x5L3nK`LbdRSfaN{T9{OrE0IIHh)qMh{C~VlGgaB`LKe5hz=hm{XcM#ohh`)D*"
        "VjlEjkIVxUZFMPhOZP+?wv2~fR6VxB@`S!z*Yda6P`kX9(kNL47xFE5@_nxqE+nm92C"
    ),
    "Estimate": (
        "c-mEvyGsK>5XLVrF9sVUiZ*saY*MFC4hbrF7&NsKE_WO5@LuljDG>yls0j-"
        "xGX4dzvlp=uti(<m8&SbVuoi55%v~awuNa1%k8kHU2g#Gmm=sBjS1rap-"
        "P9Pj^gO}pXq<pZFaEV1$cYIzaQu3{qI;C&oxtXnMyXZ@F;byK_guzlpmVf}ROAF9yGGB_0aa>1F;;~mC"
        "__$-sfh-dLn3AHx*w*Cc&z}<<K8qOVslU`l~#UGQBfrh)n;*Wcdan{wEe1#o<G`O3wO$Q_clIdT`7R$)"
        "whI@Eq8}dhO5g=b9|c^uq^eZN+LVJ8G)daB5>H@7GqR%4bQRmh=EMZM<@dO$ev{Q2Dn*rix3~gaE)p@w"
        "{VVETI%<h(2_Sl7tfw&5-"
        "qv+Yw{40f`JH`_{_4=uEv89*i4z}@H}Sb|8cU2d+N_;9=b0|`}!ld(Y{y87t@XR^_vKnqc{Hxjf%8v"
    ),
    "Matrix": (
        "c-m`VnL2|30(yj!GK)*{lQR;FOEQ!7;*;}>Qm6E=7o`FPfvm|>dW4G-"
        "^HTD2GpkZl;(@{i`FX{uQ);JZ^sp2I#in>O_poHArWQ=;;Y=$^OfJa;%1`OxaD%deCUmjK{%~D=UzNFw"
        "9bzX-+mxUwr6@+Qrxp}v<^Yv@GnKXjW%U3rc08W"
    ),
    "Point": (
        "c-"
        "m`VnR<u;0(wM~GK)*{lQR;FOEQ!7N{SLwQuEW&ru47|<Y(rUOqo1IvvEr86pbFXw8Y%ZoXROZ!bORBDf"
        "zjXRjDcQMXALF`FX{uK;?<W*{La0-"
        "0dGg&1FeSElGs)8GCq2ib_i|(n@pkQj3d$;;)`=_*33|tcN|dpg1!pKW~b=1Jm`Z;Wwpc_3#y!0If(YN"
        "{LS`D#|YcDy~cvEBjxj(ZiCPUtBW9uZJZszXWJ0!<5n_Jph*?PYV"
    ),
    "Profile": (
        "c-n<iO>Yx15DnF~p=v6jv_R;|2PDde3hA+zo)Cvh2=ND2vtB2*x@)iOagrh--"
        "~>XxVg4UKfuF!^vL)R%Y4@`B%zJOf<L9r*@1IF${)PQaIW$~?L&c9OYeuRNF?2sPt6%Z?xA-"
        "|8hOH9Ns#y&E79-`x)_5x@Xls1vdaXvrmP8AQQ=ddU+i+Lc-"
        "{VI@2~B#!#Y5Q%n{R1zu`HHoC`mQR6uKBTCs241-"
        "<|$#n%;5<=<AG_0Y?IAgEiia*f9D`_7^(xAxQ{?C?EeP%Yl3%55fR6gNd*(7R=C}p%l!TscX}>r^Y%=D"
        "X~Ihm%{AL2^+F`pDki<LFA_JrCz~(u*j^V_e+l+id5-"
        "(l7Pz0MLM09NT*G@&!GaY@Zu&^zHA})$6h$6^f;v(&mdDp!#e$Q3u~u@Sy~7<r=i_h;?dZH1&u=F>8-"
        "r5H<f_m@(voCwY0jTa;jK0f@?*0bD>ppoODR=vyHoP$Ln!>S8>ZG)}VW6J<5?UG!6IWG{aLT!IIrZjDX"
        "}eQ5lQw6>HuLtE@8i`pNCs<cgEpkCinOn(=wv(!G`GZEkd~F75NB?ZFqd1AGDYggH|RHgDfC4w{}5%P3"
        "%qoROz2w!7My(ACN`GhXMU`(6%0ucmNQRvrb#4#KmgBvY<AtjO6^Q2>yY#vvQNJ|^W_{pcSC*N=|"
    ),
    "Step": (
        "c-"
        "m`Vnd;8~0X>pQnZ+gf$r*{oC7H>3xrtf%MVVEJC7JnoQ+il}OHvD_OrGM+<jvT_nO2mT3=%J%(!=2fWr"
        "HLcy_wpk1Wjq5(l|vA09_6s)c"
    ),
    "TTransforms": (
        "c-"
        "l3LF%H5o6hqTe1QlF>8^F?Iuw;W?AdOlQq&6r&EJ#RnX_voY25w6#z>{VB`H{We;w#=%mV(npQLwsb)!"
        "BJ_Q^C3pyedntI%=G62~X^L+_B|FQ2ta0f)p~5=?I=vs4oN~I6Focr!tiZ=Z#l-"
        "dLr<0|MOEBsR0L!=wb5d#jGPR`)32LRq+83c|3m"
    ),
}


def old(name: str) -> bytes:
    return zlib.decompress(base64.b85decode(PICKLES[name]))


@pytest.mark.parametrize("name", PICKLES)
def test_pickles_of_an_earlier_version_are_read(name: str) -> None:
    found = pickle.loads(old(name))
    assert type(found) is getattr(bs.results, name)
    # All of it is there: it is shown, and pickled again as what it is.
    assert repr(pickle.loads(pickle.dumps(found))) == repr(found)


def test_they_are_what_they_were() -> None:
    m = bs.randomized_response(3, epsilon=2)
    estimate = pickle.loads(old("Estimate"))
    assert repr(estimate) == repr(m.estimate(counts=[520, 290, 190]))
    assert pickle.loads(old("Matrix")) == m
    assert repr(pickle.loads(old("Comparison"))) == repr(bs.compare(m))
    assert pickle.loads(old("TTransforms")) == bs.theory.t_transforms([5, 3, 1], [4, 3, 2])
    # What it did not have then is None.
    point = replace(bs.tradeoff(3, betas=[0.5])[0], expected_cost=None)
    assert pickle.loads(old("Point")) == point
    # Measures that had other names have those of now; what is said of them may change.
    then, now = pickle.loads(old("Profile")), bs.uniform(2).profile()
    facts = [[(e.name, e.value, e.status) for e in profile] for profile in (then, now)]
    assert facts[0] == facts[1]


def test_the_old_modules_have_what_the_new_ones_have() -> None:
    for module in MOVED:
        told = {name for name in PICKLES if module.encode() in old(name)}
        assert told, f"no pickle names {module}"


def test_a_decomposition_is_not_pickled() -> None:
    with pytest.raises(TypeError, match="cannot pickle"):
        pickle.dumps(bs.uniform(3).decompose())
