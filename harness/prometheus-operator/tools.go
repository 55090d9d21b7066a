//go:build tools

// The program that this module is about; nothing imports it.
package tools

import _ "github.com/prometheus-operator/prometheus-operator/cmd/operator"
