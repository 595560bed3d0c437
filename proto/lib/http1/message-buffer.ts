/**
 * Lays out whole HTTP/1.1 messages in one buffer: a head, the length of its body and the body become one write. As texts they are copied three times: when
 * the body is concatenated, when it is joined with its head, and when both are encoded.
 */
import type { Socket } from "node:net";

/** Room for a head and the field with the length; longer messages are written in another way. */
const headBytes = 8 * 1024;
const bodyBytes = 64 * 1024;
/** Longest `content-length: …` with the empty line after it. */
const lengthBytes = 32;
/** Maximum UTF-8 bytes of a UTF-16 unit. */
const bytesPerUnit = 3;

export class MessageBuffer {
  #bytes = Buffer.allocUnsafeSlow(headBytes + bodyBytes);

  /**
   * Writes a message to an idle clear-text connection.
   * @param head start line and fields with their line ends, without the length and the empty line; a character for each byte
   * @returns false when the message is not for this buffer: then nothing was written
   */
  write(socket: Socket, head: string, body: string): boolean {
    const isLong = bytesPerUnit * body.length > bodyBytes || head.length > headBytes - lengthBytes;
    // Encryption uses the bytes for longer than the write.
    if (isLong || "encrypted" in socket || socket.writableLength > 0) return false;
    const bytes = this.#bytes;
    const end = headBytes + bytes.write(body, headBytes);
    const length = `content-length: ${end - headBytes}\r\n\r\n`;
    const lengthAt = headBytes - length.length;
    bytes.write(length, lengthAt, "latin1");
    const headAt = lengthAt - head.length;
    bytes.write(head, headAt, "latin1");
    socket.write(bytes.subarray(headAt, end));
    // A socket with unsent bytes keeps reading from the buffer, so the next message gets a new one.
    if (socket.writableLength > 0) this.#bytes = Buffer.allocUnsafeSlow(headBytes + bodyBytes);
    return true;
  }
}
