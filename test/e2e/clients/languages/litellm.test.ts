/** The SDK of LiteLLM. */
import { testForeignClients } from "../../../support/clients/foreign.ts";

testForeignClients("litellm");
