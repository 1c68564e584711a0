// Package alerts is a folder of rules for Prometheus and a dashboard for Grafana, with the
// tests that feed them with what a server exports. docs/alerts.md explains them.
package alerts
