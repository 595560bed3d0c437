/** The name of a tool, in declarations and in references from results. */
import { string } from "../../lib/validation/shape.ts";

/** Name of a client tool. Names from MCP servers have dots, slashes and blanks; before a request goes to a provider, names it does not accept are replaced. */
export const toolName = string({
  pattern: {
    form: /^[!-~\u00a1-\uffff](?:[ -~\u00a0-\uffff]{0,126}[!-~\u00a1-\uffff])?$/,
    message: "1 to 128 characters without control characters, and no blank at either end",
  },
});
