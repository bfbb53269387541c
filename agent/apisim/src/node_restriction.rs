//! The admission plugin NodeRestriction, as far as Node objects go (`plugin/pkg/admission/noderestriction`, Kubernetes 1.11 and
//! newer): a kubelet registers its own node with taints, writes the status of no other, and never changes taints afterwards. The
//! rules about labels are not modelled.

use crate::failure::Failure;
use crate::kinds::Kind;
use serde_json::Value;

/// What the names of kubelets' users begin with.
const USERS: &str = "system:node:";

/// Checks a write of `user`: the object as it was, where there was one, and as it would be.
pub(crate) fn check(
    kind: &Kind,
    name: &str,
    user: &str,
    (before, after): (Option<&Value>, &Value),
) -> Result<(), Failure> {
    let Some(node) = user.strip_prefix(USERS).filter(|_| kind.kind == "Node") else {
        return Ok(());
    };
    if node != name {
        let why = format!("node {node:?} is not allowed to modify node {name:?}");
        return Err(Failure::forbidden(kind, name, &why));
    }
    let taints = |object: &Value| match &object["spec"]["taints"] {
        Value::Null => Value::Array(Vec::new()),
        taints => taints.clone(),
    };
    match before {
        Some(before) if taints(before) != taints(after) => {
            let why = format!("node {node:?} is not allowed to modify taints");
            Err(Failure::forbidden(kind, name, &why))
        }
        Some(_) | None => Ok(()),
    }
}

/// The user of a kubelet's client certificate, as DER; `None` for any other's. A common name is plain text in it, after its length.
pub fn node_user(certificate: &[u8]) -> Option<String> {
    let users = USERS.as_bytes();
    let at = certificate
        .windows(users.len())
        .position(|part| part == users)?;
    let length = usize::from(*certificate.get(at.checked_sub(1)?)?);
    let name = certificate.get(at..at + length)?;
    String::from_utf8(name.to_vec()).ok()
}
