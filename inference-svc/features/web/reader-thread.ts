/** Extracts the text of a page. Runs in a thread, because a hostile page can take any amount of time and memory. */
import { parentPort } from "node:worker_threads";
import { Readability, isProbablyReaderable } from "@mozilla/readability";
import { parseHTML } from "linkedom";
import { decodePage } from "../../content/page-charset.ts";
import { type PageNode, pageToMarkdown } from "../../content/files/markdown.ts";

export interface RawPage {
  readonly html: Uint8Array;
  /** The response's content-type header. */
  readonly type: string;
  readonly url: string;
}

export interface ParsedPage {
  /** Title of the page; empty when it has none. */
  readonly title: string;
  /** Text of the page as Markdown. */
  readonly text: string;
}

/**
 * Maximum UTF-16 units of a page in which the article is searched. The search takes twice as long as everything else;
 * longer pages are converted whole.
 */
const maxArticleSearchLength = 400_000;

function readableOf({ html, type, url }: RawPage): ParsedPage {
  const source = framed(decodePage(html, type));
  const page = parseHTML(source).document as unknown as PageDocument;
  const title = tidy(page.querySelector("title")?.textContent);
  if (source.length <= maxArticleSearchLength && isProbablyReaderable(page)) {
    const article = new Readability<PageNode>(page, { serializer: (node: PageNode) => node }).parse();
    const text = article?.content ? pageToMarkdown(article.content, url) : "";
    if (text !== "") return { title: tidy(article?.title) || title, text };
    // Readability has changed the document, so it is parsed again.
    return { title, text: pageToMarkdown((parseHTML(source).document as unknown as PageDocument).body, url) };
  }
  return { title, text: pageToMarkdown(page.body, url) };
}

interface PageDocument {
  readonly body: PageNode;
  querySelector(selector: string): PageNode | null;
}

/** The page with html, head and body tags: linkedom does not add those that a page omits. */
const framed = (source: string): string =>
  `<html><body>${source.replaceAll(/<\/?(?:html|head|body)(?:\s[^>]*)?>|<!doctype[^>]*>/gi, "")}</body></html>`;

const tidy = (title: string | null | undefined): string => (title ?? "").replaceAll(/\s+/g, " ").trim();

parentPort?.on("message", (unparsed: RawPage) => {
  try {
    parentPort?.postMessage(readableOf(unparsed));
  } catch {
    // A page nested too deeply overflows the stack.
    parentPort?.postMessage(undefined);
  }
});

// Signals the pool the thread's modules are loaded.
parentPort?.postMessage(undefined);
