//! Uniform: perfect secrecy, the report says nothing of the truth. All the bits.

use std::sync::Arc;

use crate::error::Result;
use crate::law::Family;
use crate::law::parameters::{Arguments, Value};
use crate::law::shared::classes::Classes;

pub fn build(arguments: &mut Arguments) -> Result<Arc<dyn Family>> {
    let size = arguments.size()?;
    let parameters = vec![("size", Value::Whole(size.into()))];
    Ok(Arc::new(Classes::new("uniform", parameters, [(size, 1)])))
}
