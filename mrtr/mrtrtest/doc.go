// Package mrtrtest is for tests.
package mrtrtest
