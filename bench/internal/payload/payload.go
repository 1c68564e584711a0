// Package payload has the state that the codecs are measured on.
package payload

// State is a payload as an engine seals it between two rounds: a call's id, an
// answer, an effect, and a question that is pending. It is JSON so that every
// codec can carry it.
const State = `{"call":"0ddfd699dc322f1bd3bdc2561348b361","round":2,"asked":2,"done":[` +
	`{"kind":"answer","key":"place","digest":"c9n1HnZC040J","value":{"place":"Springfield, Illinois"}},` +
	`{"kind":"effect","key":"audit","value":true}],"pending":[{"kind":"form","key":"units","message":"Which units?",` +
	`"schema":{"type":"object","properties":{"units":{"type":"string","enum":["metric","imperial"]}},"required":["units"]}}]}`
