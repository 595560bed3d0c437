// Calls Sluice with the client that oapi-codegen makes from the document.
package main

import (
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"os"

	"generated/sluice"
)

func bearer(name string) sluice.ClientOption {
	return sluice.WithRequestEditorFn(func(_ context.Context, request *http.Request) error {
		request.Header.Set("authorization", "Bearer "+os.Getenv(name))
		return nil
	})
}

func client(name string) *sluice.ClientWithResponses {
	made, err := sluice.NewClientWithResponses(os.Getenv("SLUICE_URL"), bearer(name))
	if err != nil {
		panic(err)
	}
	return made
}

func main() {
	ctx := context.Background()
	name := "generated in Go"
	key, err := client("SLUICE_MANAGEMENT_KEY").CreateKeyWithResponse(ctx, &sluice.CreateKeyParams{}, sluice.NewKey{Name: name})
	if err != nil || key.JSON201 == nil {
		panic(fmt.Sprint("no key: ", err))
	}
	var request sluice.ChatCompletionRequest
	body := `{"model":"sluice/echo","messages":[{"role":"user","content":"Hello from Go"}]}`
	if err := json.Unmarshal([]byte(body), &request); err != nil {
		panic(err)
	}
	chat, err := client("SLUICE_API_KEY").CreateChatCompletionWithResponse(ctx, &sluice.CreateChatCompletionParams{}, request)
	if err != nil || chat.JSON200 == nil {
		panic(fmt.Sprint("no answer: ", err))
	}
	fmt.Println(key.JSON201.Data.Name)
	answer, _ := json.Marshal(chat.JSON200.Choices[0].Message)
	fmt.Println(string(answer))
}
