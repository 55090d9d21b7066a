//go:build tools

// Package kubernetes names the programs of a Kubernetes control plane, so that one module pins versions that belong together. It is built, never run.
package kubernetes

import (
	_ "github.com/yannh/kubeconform/cmd/kubeconform"
	_ "go.etcd.io/etcd/etcdctl/v3"
	_ "go.etcd.io/etcd/server/v3"
	_ "helm.sh/helm/v3/cmd/helm"
	_ "k8s.io/kubernetes/cmd/kube-apiserver"
	_ "k8s.io/kubernetes/cmd/kube-controller-manager"
	_ "k8s.io/kubernetes/cmd/kube-scheduler"
	_ "k8s.io/kubernetes/cmd/kubectl"
	_ "k8s.io/kubernetes/cmd/kubelet"
	_ "k8s.io/kubernetes/cmd/kube-proxy"
	_ "sigs.k8s.io/kwok/cmd/kwok"
)
