# An AMI with the agent, and with the assets of a node in its store where a list of them is given.
#
#   packer init images/packer
#   packer build -var source_ami_name='debian-12-amd64-*' -var source_ami_owner=136693071363 \
#                -var agent=dist/quake-agent-x86_64-unknown-linux-gnu -var kube_env=user-data.txt images/packer

packer {
  required_plugins {
    amazon = {
      source  = "github.com/hashicorp/amazon"
      version = ">= 1.3.0"
    }
  }
}

variable "region" {
  type    = string
  default = "us-east-1"
}

variable "instance_type" {
  type    = string
  default = "m5.large"
}

variable "source_ami_name" {
  type        = string
  description = "The newest image of this name is built upon; it may hold stars."
}

variable "source_ami_owner" {
  type        = string
  description = "The account that publishes it."
}

variable "ssh_username" {
  type    = string
  default = "admin"
}

variable "name" {
  type    = string
  default = "quake-node"
}

variable "agent" {
  type        = string
  description = "The agent's binary, for the processor of the image."
}

variable "kube_env" {
  type        = string
  default     = ""
  description = "A node's kube_env.yaml or its user data: the assets that it pins are put into the image. Without it, nodes fetch them."
}

variable "allow" {
  type        = list(string)
  default     = []
  description = "Rules of `quake-agent seed verify` that this image may break, such as authorized-keys."
}

locals {
  seed  = var.kube_env == "" ? "" : "-- --kube-env /tmp/quake-agent-image/kube_env"
  allow = join(" ", [for rule in var.allow : "--allow ${rule}"])
}

source "amazon-ebs" "node" {
  region        = var.region
  instance_type = var.instance_type
  ssh_username  = var.ssh_username
  ami_name      = "${var.name}-${formatdate("YYYYMMDD-hhmmss", timestamp())}"

  # The key of this build goes to root's and the user's authorized_keys; provision.sh removes both.
  ssh_clear_authorized_keys = true

  source_ami_filter {
    owners      = [var.source_ami_owner]
    most_recent = true
    filters = {
      name                = var.source_ami_name
      root-device-type    = "ebs"
      virtualization-type = "hvm"
    }
  }

  # Version 2 of the metadata service alone, for the build and for every instance of the image.
  imds_support = "v2.0"
  metadata_options {
    http_endpoint               = "enabled"
    http_tokens                 = "required"
    http_put_response_hop_limit = 1
  }

  tags = {
    Name     = var.name
    base_ami = "{{ .SourceAMI }}"
  }
}

build {
  sources = ["source.amazon-ebs.node"]

  provisioner "shell" {
    inline = ["mkdir -p /tmp/quake-agent-image/units"]
  }

  provisioner "file" {
    source      = "${path.root}/../provision.sh"
    destination = "/tmp/quake-agent-image/provision.sh"
  }

  provisioner "file" {
    source      = var.agent
    destination = "/tmp/quake-agent-image/quake-agent"
  }

  provisioner "file" {
    source      = "${path.root}/../../systemd/"
    destination = "/tmp/quake-agent-image/units/"
  }

  # An empty file where no assets are wanted: a provisioner cannot be left out by a condition.
  provisioner "file" {
    content     = var.kube_env == "" ? "# none\n" : file(var.kube_env)
    destination = "/tmp/quake-agent-image/kube_env"
  }

  # The last step: what it cleans, a later one would write again.
  provisioner "shell" {
    execute_command = "sudo sh -c '{{ .Vars }} sh {{ .Path }}'"
    inline = [
      "cloud-init status --wait >/dev/null 2>&1 || true",
      "sh /tmp/quake-agent-image/provision.sh --agent /tmp/quake-agent-image/quake-agent --units /tmp/quake-agent-image/units ${local.allow} ${local.seed}",
      "rm -rf /tmp/quake-agent-image",
    ]
  }
}
