// Reads rule files as envoyproxy/ratelimit does, with gopkg.in/yaml.v2: our own reader is tested against it.
// Each line of standard input is one text as a JSON string; each line of standard output is its result as JSON.
package main

import (
	"bufio"
	"encoding/json"
	"fmt"
	"os"

	"gopkg.in/yaml.v2"
)

// longestLine bounds one text, in bytes.
const longestLine = 16 << 20

type replaced struct {
	Name string `yaml:"name" json:"name"`
}

type limit struct {
	Unit            string     `yaml:"unit" json:"unit"`
	RequestsPerUnit uint32     `yaml:"requests_per_unit" json:"requestsPerUnit"`
	Unlimited       bool       `yaml:"unlimited" json:"unlimited"`
	Name            string     `yaml:"name" json:"name"`
	Replaces        []replaced `yaml:"replaces" json:"replaces"`
}

type descriptor struct {
	Key            string                 `yaml:"key" json:"key"`
	Value          string                 `yaml:"value" json:"value"`
	RateLimit      *limit                 `yaml:"rate_limit" json:"rateLimit,omitempty"`
	Descriptors    []descriptor           `yaml:"descriptors" json:"descriptors"`
	ShadowMode     bool                   `yaml:"shadow_mode" json:"shadowMode"`
	DetailedMetric bool                   `yaml:"detailed_metric" json:"detailedMetric"`
	QuotaMode      bool                   `yaml:"quota_mode" json:"quotaMode"`
	ValueToMetric  bool                   `yaml:"value_to_metric" json:"valueToMetric"`
	ShareThreshold bool                   `yaml:"share_threshold" json:"shareThreshold"`
	Metadata       map[string]interface{} `yaml:"metadata" json:"-"`
	// JSON knows no keys but texts, so metadata is converted for it.
	PlainMetadata *map[string]interface{} `yaml:"-" json:"metadata,omitempty"`
}

type root struct {
	Domain      string       `yaml:"domain" json:"domain"`
	Descriptors []descriptor `yaml:"descriptors" json:"descriptors"`
}

// result says at which step a text is refused, and why, or what it holds.
type result struct {
	RefusedBy string `json:"refusedBy,omitempty"`
	Reason    string `json:"reason,omitempty"`
	Root      *root  `json:"root,omitempty"`
}

var allowedKeys = map[string]bool{
	"domain": true, "key": true, "value": true, "descriptors": true, "rate_limit": true, "unit": true, "requests_per_unit": true,
	"unlimited": true, "shadow_mode": true, "quota_mode": true, "name": true, "replaces": true, "detailed_metric": true,
	"value_to_metric": true, "share_threshold": true, "metadata": true,
}

func main() {
	lines := bufio.NewScanner(os.Stdin)
	lines.Buffer(nil, longestLine)
	output := json.NewEncoder(os.Stdout)
	output.SetEscapeHTML(false)
	for lines.Scan() {
		var text string
		must(json.Unmarshal(lines.Bytes(), &text))
		must(output.Encode(read(text)))
	}
	must(lines.Err())
}

func must(err error) {
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
}

func read(text string) result {
	values := map[interface{}]interface{}{}
	if err := yaml.Unmarshal([]byte(text), &values); err != nil {
		return result{RefusedBy: "yaml", Reason: err.Error()}
	}
	if reason := findKeyProblem(values); reason != "" {
		return result{RefusedBy: "keys", Reason: reason}
	}
	rules := root{Descriptors: []descriptor{}}
	if err := yaml.Unmarshal([]byte(text), &rules); err != nil {
		return result{RefusedBy: "types", Reason: err.Error()}
	}
	rules.Descriptors = completed(rules.Descriptors)
	return result{Root: &rules}
}

// findKeyProblem names a key that no rule file has, or a value of a kind that none has; the empty text when all is well.
func findKeyProblem(values map[interface{}]interface{}) string {
	for key, value := range values {
		name, isText := key.(string)
		if !isText || !allowedKeys[name] {
			return fmt.Sprintf("key %v", key)
		}
		if name == "metadata" {
			continue
		}
		if reason := findValueProblem(value); reason != "" {
			return reason
		}
	}
	return ""
}

func findValueProblem(value interface{}) string {
	switch value := value.(type) {
	case map[interface{}]interface{}:
		return findKeyProblem(value)
	case []interface{}:
		for _, element := range value {
			inner, isMap := element.(map[interface{}]interface{})
			if !isMap {
				return fmt.Sprintf("element %v", element)
			}
			if reason := findKeyProblem(inner); reason != "" {
				return reason
			}
		}
	case string, int, bool, nil:
	default:
		return fmt.Sprintf("value %v", value)
	}
	return ""
}

// completed replaces what is nil by what is empty, as our model has it.
func completed(all []descriptor) []descriptor {
	if all == nil {
		return []descriptor{}
	}
	for index := range all {
		one := &all[index]
		one.Descriptors = completed(one.Descriptors)
		if one.RateLimit != nil && one.RateLimit.Replaces == nil {
			one.RateLimit.Replaces = []replaced{}
		}
		if one.Metadata != nil {
			converted := plain(one.Metadata).(map[string]interface{})
			one.PlainMetadata = &converted
		}
	}
	return all
}

func plain(value interface{}) interface{} {
	switch value := value.(type) {
	case map[string]interface{}:
		converted := map[string]interface{}{}
		for key, inner := range value {
			converted[key] = plain(inner)
		}
		return converted
	case map[interface{}]interface{}:
		converted := map[string]interface{}{}
		for key, inner := range value {
			converted[fmt.Sprint(key)] = plain(inner)
		}
		return converted
	case []interface{}:
		for index, inner := range value {
			value[index] = plain(inner)
		}
		return value
	case float64:
		return fmt.Sprint(value)
	default:
		return value
	}
}
