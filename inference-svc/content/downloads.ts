/** Downloads of files and images by their URLs. */
import type { TurnSignal } from "../turn/signal.ts";

export interface DownloadedFile {
  /** The final URL after redirects. */
  readonly url: string;
  readonly status: number;
  /** Value of the content-type header; empty when the response has none. */
  readonly type: string;
  readonly body: Buffer;
}

/** Downloads files by URL. Addresses are checked like those of web pages. */
export interface Downloads {
  /** Downloads a file after checking its address. @throws PageUnreadable; Fault when the turn is over */
  download(url: string, signal: TurnSignal): Promise<DownloadedFile>;
}
