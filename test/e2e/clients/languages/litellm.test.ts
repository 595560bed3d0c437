/** The SDK of LiteLLM. */
import { testForeignClients } from "../../../support/clients/foreign.ts";

await testForeignClients("litellm");
