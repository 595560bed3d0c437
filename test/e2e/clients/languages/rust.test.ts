/** Clients in Rust. */
import { testForeignClients } from "../../../support/clients/foreign.ts";

await testForeignClients("rust");
