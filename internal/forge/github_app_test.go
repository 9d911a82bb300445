package forge

import (
	"crypto"
	"crypto/rand"
	"crypto/rsa"
	"crypto/sha256"
	"crypto/x509"
	"encoding/base64"
	"encoding/json"
	"encoding/pem"
	"strings"
	"testing"
	"time"
)

// An App proves who it is with its key, and writes with a token of its installation, which is renewed
// before it expires.
func TestApp(t *testing.T) {
	key, err := rsa.GenerateKey(rand.Reader, 2048)
	if err != nil {
		t.Fatal(err)
	}
	pkcs8, err := x509.MarshalPKCS8PrivateKey(key)
	if err != nil {
		t.Fatal(err)
	}
	for _, block := range []*pem.Block{{Type: "RSA PRIVATE KEY", Bytes: x509.MarshalPKCS1PrivateKey(key)}, {Type: "PRIVATE KEY", Bytes: pkcs8}} {
		s := newGitHubServer(t)
		s.admits = func(path, given string) bool {
			if path == "/app" || strings.HasPrefix(path, "/app/") || strings.HasSuffix(path, "/installation") {
				return signedBy(&key.PublicKey, given)
			}
			return given == "ghs_1"
		}
		opts := s.options(GitHub)
		opts.Token, opts.App = "", &App{ID: "Iv1.pawl", Key: pem.EncodeToMemory(block)}
		f, err := New(opts)
		if err != nil {
			t.Fatal(err)
		}
		post(t, f, Comment{Text: "one"})
		post(t, f, Comment{Text: "two"})
		if len(s.comments) != 1 || s.installed != 1 {
			t.Errorf("%d comments, %d tokens", len(s.comments), s.installed)
		}
		s.admits = func(path, given string) bool {
			return strings.HasPrefix(path, "/app/") || given == "ghs_2" || len(given) > 100
		}
		f.(*github).now = func() time.Time { return time.Now().Add(59*time.Minute + 30*time.Second) }
		post(t, f, Comment{Text: "three"})
		if s.installed != 2 {
			t.Errorf("%d tokens after an hour", s.installed)
		}
	}
}

func signedBy(key *rsa.PublicKey, token string) bool {
	parts := strings.Split(token, ".")
	if len(parts) != 3 {
		return false
	}
	signature, err := base64.RawURLEncoding.DecodeString(parts[2])
	if err != nil {
		return false
	}
	raw, err := base64.RawURLEncoding.DecodeString(parts[1])
	if err != nil {
		return false
	}
	var claims struct {
		Issued  int64  `json:"iat"`
		Expires int64  `json:"exp"`
		Issuer  string `json:"iss"`
	}
	sum := sha256.Sum256([]byte(parts[0] + "." + parts[1]))
	return rsa.VerifyPKCS1v15(key, crypto.SHA256, sum[:], signature) == nil && json.Unmarshal(raw, &claims) == nil &&
		claims.Issuer == "Iv1.pawl" && claims.Issued < time.Now().Unix() && claims.Expires-claims.Issued <= 600
}

func TestAppKey(t *testing.T) {
	for _, key := range []string{"", "secret words", "-----BEGIN RSA PRIVATE KEY-----\naGk=\n-----END RSA PRIVATE KEY-----\n"} {
		_, err := New(Options{Kind: GitHub, Repo: "o/r", App: &App{ID: "1", Key: []byte(key)}})
		if err == nil || key != "" && strings.Contains(err.Error(), key) {
			t.Errorf("%q: %v", key, err)
		}
	}
}
