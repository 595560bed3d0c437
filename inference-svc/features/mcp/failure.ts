/** The reason why an MCP server gave no result. Its message is safe for models and clients: it reveals nothing about private networks. */
export class McpFailure extends Error {
  /** Error status of the response. */
  readonly status: number | undefined;
  /** Whether part of the message comes from the server. */
  readonly isQuoted: boolean;

  constructor(
    message: string,
    {
      status,
      isQuoted = false,
      ...options
    }: ErrorOptions & { readonly status?: number; readonly isQuoted?: boolean } = {},
  ) {
    super(message, options);
    this.status = status;
    this.isQuoted = isQuoted;
  }
}
