//! Identity: everything is reported as it is. No bits, the start of every scale.

use std::sync::Arc;

use crate::error::Result;
use crate::law::Family;
use crate::law::parameters::{Arguments, Value};
use crate::law::shared::classes::Classes;

pub fn build(arguments: &mut Arguments) -> Result<Arc<dyn Family>> {
    let size = arguments.size()?;
    let parameters = vec![("size", Value::Whole(size.into()))];
    Ok(Arc::new(Classes::new("identity", parameters, [(1, size)])))
}
