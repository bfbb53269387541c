//! JSON schemas, held against what the agent prints by a validator that is not ours.

use boon::{Compiler, SchemaIndex, Schemas};
use serde_json::Value;
use std::fmt;

/// A schema that was read and understood.
pub struct Schema {
    schemas: Schemas,
    index: SchemaIndex,
}

impl Schema {
    /// Reads a schema.
    ///
    /// # Errors
    ///
    /// Says what is wrong with it: a schema that is no schema would take anything.
    pub fn new(schema: Value) -> Result<Self, String> {
        const NAME: &str = "schema.json";
        let (mut schemas, mut compiler) = (Schemas::new(), Compiler::new());
        compiler
            .add_resource(NAME, schema)
            .map_err(|error| error.to_string())?;
        let index = compiler
            .compile(NAME, &mut schemas)
            .map_err(|error| format!("{error:#}"))?;
        Ok(Self { schemas, index })
    }

    /// Holds a value against the schema.
    ///
    /// # Errors
    ///
    /// Names each place that is not as the schema wants it.
    pub fn check(&self, value: &Value) -> Result<(), String> {
        self.schemas
            .validate(value, self.index)
            .map_err(|error| format!("{error:#}"))
    }
}

impl fmt::Debug for Schema {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Schema").finish_non_exhaustive()
    }
}

#[cfg(test)]
mod tests {
    use super::Schema;
    use serde_json::json;

    #[test]
    fn what_a_schema_forbids_is_found_and_a_schema_that_is_none_is_refused() {
        let schema = json!({"$defs": {"id": {"type": "string"}}, "properties": {"id": {"$ref": "#/$defs/id"}}});
        let schema = Schema::new(schema).expect("it is a schema");
        assert_eq!(schema.check(&json!({"id": "a"})), Ok(()));
        let found = schema.check(&json!({"id": 1})).expect_err("a number");
        assert!(found.contains("/id"), "{found}");
        Schema::new(json!({"type": "nonsense"})).expect_err("no such type");
    }
}
