module github.com/mrtr-go/sdk/check/deploy

go 1.26.0

require (
	github.com/modelcontextprotocol/go-sdk v1.8.0
	github.com/mrtr-go/sdk v0.0.0
	github.com/stretchr/testify v1.12.1
	modernc.org/sqlite v1.58.0 // indirect
)

require (
	github.com/gorilla/websocket v1.5.3
	github.com/mrtr-go/sdk/store/sqlitestore v0.0.0-00010101000000-000000000000
)

require (
	github.com/dustin/go-humanize v1.0.1 // indirect
	github.com/google/jsonschema-go v0.4.3 // indirect
	github.com/google/uuid v1.6.0 // indirect
	github.com/mattn/go-isatty v0.0.24 // indirect
	github.com/ncruces/go-strftime v1.0.0 // indirect
	github.com/remyoudompheng/bigfft v0.0.0-20230129092748-24d4a6f8daec // indirect
	github.com/segmentio/asm v1.1.3 // indirect
	github.com/segmentio/encoding v0.5.4 // indirect
	github.com/yosida95/uritemplate/v3 v3.0.2 // indirect
	go.yaml.in/yaml/v3 v3.0.5 // indirect
	golang.org/x/oauth2 v0.35.0 // indirect
	golang.org/x/sync v0.23.0 // indirect
	golang.org/x/sys v0.48.0 // indirect
	golang.org/x/time v0.15.0 // indirect
	modernc.org/libc v1.77.1 // indirect
	modernc.org/mathutil v1.7.1 // indirect
	modernc.org/memory v1.12.1 // indirect
)

replace github.com/mrtr-go/sdk => ../..

replace github.com/mrtr-go/sdk/store/sqlitestore => ../../store/sqlitestore
