// A Terraform provider for Sluice. Its schemas are generated from the OpenAPI document; the same code handles every record.
package main

import (
	"context"
	"log"

	"github.com/hashicorp/terraform-plugin-framework/providerserver"
)

func main() {
	options := providerserver.ServeOpts{Address: "sluice.dev/sluice/sluice"}
	if err := providerserver.Serve(context.Background(), newProvider, options); err != nil {
		log.Fatal(err)
	}
}
