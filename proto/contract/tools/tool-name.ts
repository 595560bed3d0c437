/** The name of a tool, in declarations and where a result refers to one. */
import { string } from "../../runtime/validation/shape.ts";

/**
 * Name of a tool that the client runs. Names from servers of MCP have dots, slashes and blanks; a name that a provider does not take is replaced before
 * its format.
 */
export const toolName = string({
  pattern: {
    form: /^[!-~\u00a1-\uffff](?:[ -~\u00a0-\uffff]{0,126}[!-~\u00a1-\uffff])?$/,
    says: "1 to 128 characters without control characters, and no blank at either end",
  },
});
