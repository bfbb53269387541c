//! Finds kube_env.yaml and its companions in user data.
