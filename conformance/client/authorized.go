package main

import (
	"context"
	"fmt"
	"net/http"

	"github.com/modelcontextprotocol/go-sdk/auth"
	"github.com/modelcontextprotocol/go-sdk/oauthex"
)

const redirect = "http://127.0.0.1:3000/callback"

// authorized lists and calls at a server that wants a token. The client offers
// every way to be known to the authorization server: a metadata document, the
// credentials that the suite gives, registration on the spot.
func authorized(ctx context.Context, at *setting) error {
	config := &auth.AuthorizationCodeHandlerConfig{
		ClientIDMetadataDocumentConfig: &auth.ClientIDMetadataDocumentConfig{
			URL: "https://conformance-test.local/client-metadata.json", // the one that the suite knows
		},
		DynamicClientRegistrationConfig: &auth.DynamicClientRegistrationConfig{
			Metadata: &oauthex.ClientRegistrationMetadata{ClientName: "mrtr-conformance", RedirectURIs: []string{redirect}},
		},
		RedirectURL:              redirect,
		AuthorizationCodeFetcher: agree,
	}
	if id, secret := at.Context.ClientID, at.Context.ClientSecret; id != "" && secret != "" {
		config.PreregisteredClient = &oauthex.ClientCredentials{
			ClientID: id, ClientSecretAuth: &oauthex.ClientSecretAuth{ClientSecret: secret},
		}
	}
	oauth, err := auth.NewAuthorizationCodeHandler(config)
	if err != nil {
		return err
	}
	session, err := connect(ctx, at, nil, oauth)
	if err != nil {
		return err
	}
	defer session.Close()
	if _, err := session.ListTools(ctx, nil); err != nil {
		return err
	}
	return call(ctx, session, "test-tool", nil)
}

// agree is the user in the browser: the suite's authorization server asks
// nothing, and redirects at once with the code.
func agree(ctx context.Context, args *auth.AuthorizationArgs) (*auth.AuthorizationResult, error) {
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, args.URL, nil)
	if err != nil {
		return nil, err
	}
	browser := &http.Client{CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse }}
	res, err := browser.Do(req)
	if err != nil {
		return nil, err
	}
	defer res.Body.Close()
	back, err := res.Location()
	if err != nil {
		return nil, fmt.Errorf("the authorization server answered %s: %w", res.Status, err)
	}
	q := back.Query()
	return &auth.AuthorizationResult{Code: q.Get("code"), State: q.Get("state"), Iss: q.Get("iss")}, nil
}
