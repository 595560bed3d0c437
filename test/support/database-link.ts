/** The link between a service and its database, or another server that has a URL. */
import { Link } from "./link.ts";

export class DatabaseLink extends Link {
  constructor(databaseUrl: string) {
    const { hostname: host, port } = new URL(databaseUrl);
    super({ host, port: Number(port) });
  }

  /** @returns the database's URL through this link */
  async open(databaseUrl: string): Promise<string> {
    await this.listen();
    const url = new URL(databaseUrl);
    url.host = `127.0.0.1:${this.port}`;
    return url.href;
  }
}
