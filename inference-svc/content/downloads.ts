/** Downloads of files and images by their URLs. */
import type { TurnSignal } from "../turn/signal.ts";

export interface DownloadedFile {
  /** The final URL after redirects. */
  readonly url: string;
  readonly status: number;
  /** The content-type header; empty when there is none. */
  readonly type: string;
  readonly body: Buffer;
}

/** Downloads a file. Its addresses are checked like those of web pages. */
export interface Downloads {
  /** @throws PageUnreadable; Fault when the turn is over */
  download(url: string, signal: TurnSignal): Promise<DownloadedFile>;
}
