//! Repositories of ECR that belong to another AWS account than the node's.

use crate::checks::check::{Certainty, Finding};
use crate::checks::from_journal::QUOTED;
use crate::checks::node::Node;
use crate::checks::quote::quote;

/// What a repository's policy has to allow for a pull (AWS, "Amazon ECR private repository policies").
const PULL: &str =
    "ecr:BatchGetImage, ecr:GetDownloadUrlForLayer and ecr:BatchCheckLayerAvailability";

/// The finding where ECR refuses an image of another account's registry: the role's own policy is half of it, and the
/// repository's policy the other half.
pub(super) fn other_account(
    node: &Node<'_>,
    line: &str,
    image: &str,
    what: &str,
) -> Option<Finding> {
    let (registry, rest) = image.split_once('/')?;
    let (account, host) = registry.split_once(".dkr.ecr.")?;
    let own = &node.record().ok()?.instance.as_ref()?.account_id;
    let is_refused = line.contains("403 Forbidden");
    if account == own || !is_refused || line.contains("no basic auth credentials") {
        return None;
    }
    let region = host.split('.').next()?;
    let repository = rest.split(['@', ':']).next()?;
    let finding = Finding::new(
        format!(
            "{what}: ECR refuses the node, which is of the account {own}: the repository {repository} is of the account {account}, and its policy does not let {own} pull"
        ),
        format!(
            "in the account {account}: aws ecr get-repository-policy --region {region} --repository-name {repository}; let arn:aws:iam::{own}:root do {PULL} there (aws ecr set-repository-policy), and in the template that makes new repositories (repository creation template, Terraform); the node's role needs the same actions for that repository: aws iam simulate-principal-policy, or quake-agent diagnose --only identity"
        ),
    );
    Some(
        finding
            .by(Certainty::Likely)
            .seen("journal", quote(line, QUOTED)),
    )
}
