package main

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
)

type client struct{ url, key string }

// ask sends a request and returns the decoded answer, which is nil for a missing record. The body is nil for a request without one.
func (c *client) ask(ctx context.Context, method, path string, body []byte) (object, error) {
	request, err := http.NewRequestWithContext(ctx, method, c.url+"/api/v1/"+path, bytes.NewReader(body))
	if err != nil {
		return nil, err
	}
	request.Header.Set("Authorization", "Bearer "+c.key)
	request.Header.Set("Content-Type", "application/json")
	response, err := http.DefaultClient.Do(request)
	if err != nil {
		return nil, err
	}
	defer response.Body.Close()
	return read(response)
}

func read(response *http.Response) (object, error) {
	text, err := io.ReadAll(response.Body)
	if err != nil || response.StatusCode == http.StatusNotFound {
		return nil, err
	}
	if response.StatusCode >= 300 {
		return nil, fmt.Errorf("%s: %s", response.Status, text)
	}
	decoder := json.NewDecoder(bytes.NewReader(text))
	decoder.UseNumber()
	var answer object
	return answer, decoder.Decode(&answer)
}
