module github.com/mrtr-go/sdk/cmd/mrtr

go 1.25.0

require (
	github.com/rogpeppe/go-internal v1.14.1
	github.com/stretchr/testify v1.12.1
	golang.org/x/tools v0.48.0
)

require (
	go.yaml.in/yaml/v3 v3.0.5 // indirect
	golang.org/x/mod v0.38.0 // indirect
	golang.org/x/sync v0.22.0 // indirect
	golang.org/x/sys v0.47.0 // indirect
)

replace github.com/mrtr-go/sdk => ../..
