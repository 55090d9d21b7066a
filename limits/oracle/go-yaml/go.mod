module weir.dev/limits/oracle/go-yaml

go 1.21

require gopkg.in/yaml.v2 v2.4.0
