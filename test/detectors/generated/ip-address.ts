import type { Random } from "../../fuzz/random.ts";
import { type Templates, marked, oneOf, shaped } from "./template.ts";

const octets = (chance: Random): string =>
  [1 + chance.below(223), chance.below(256), chance.below(256), 1 + chance.below(254)].join(".");
const group = (chance: Random): string => (1 + chance.below(0xffff)).toString(16);

function six(chance: Random): string {
  const prefix = chance.pick(["2001:db8", "2a02:8071", "fe80", "fd00:12"]);
  const tail = Array.from({ length: 1 + chance.below(3) }, () => group(chance)).join(":");
  return chance.chance(0.3)
    ? ["2001", ...Array.from({ length: 7 }, () => group(chance))].join(":")
    : `${prefix}::${tail}`;
}

export const templates: Templates = {
  positive: [
    "sshd[{small}]: Failed password for root from {ip} port {port} ssh2",
    '{four} - - [10/Oct/2026:13:55:36] "GET /index.html" 200 {small}',
    "can you whois {ip} for me",
    "the printer has {four}, the scanner {four}",
    "iptables -A INPUT -s {four} -j DROP",
    "peer={ip} latency={small}ms",
    "curl http://{four}:{port}/metrics",
    "curl -g 'http://[{six}]:{port}/metrics'",
    '{"source":{"ip":"{ip}"},"bytes":{small}}',
    "Hosts: {four}, {six}.",
    "default via {four} dev eth0",
    "I'm behind {four}/24",
    "Received: from mail (unknown [{four}])",
    "Die Adresse {ip} antwortet nicht",
    "address {six}; gateway {six};",
    "upstream {four}:{port} timed out",
  ],
  negative: [
    "npm package {semver} needs node {semver}",
    "version {fourVersion} fixes it",
    "app {fourVersion}-rc1",
    "Mozilla/5.0 Chrome/1{two}.0.0.0 Safari/537.36",
    "file version: {fourVersion}",
    "{over}",
    "the limit is {over} or so",
    "at {time} and {time}",
    "mac {mac}",
    "fingerprint {mac}:{mac}:{two}",
    "Vec::<u8>::new() and str::from_utf8",
    "see section {section}",
    "§ {section}",
    "OID 1.2.840.{small}.1.{two}",
    "score {two}:{two}",
    "{date}",
    "price {thousands}",
    "ratio {two}:{two}:{two}",
    "Bible, John 3:16; Mark {two}:{two}",
    "libssl.so.{semver}.{two}",
    "uuid {uuid}",
    "beef::cafe",
  ],
  fillers: {
    four: marked(octets),
    six: marked(six),
    ip: marked((chance) => (chance.chance(0.7) ? octets(chance) : six(chance))),
    small: shaped("##", "###", "####"),
    port: shaped("8###", "5####"),
    two: shaped("##"),
    semver: shaped("#.#.#", "1#.2.#", "0.##.#"),
    fourVersion: shaped("#.#.#.#", "1#.0.#.2", "2.1#.#.##"),
    over: shaped("3##.1.2.3", "10.2.3.9##", "1#.4##.1.1"),
    time: shaped("1#:2#:3#", "0#:4#"),
    mac: shaped("&&:&&:&&:&&:&&:&&"),
    section: shaped("#.#.#.#", "1#.#.#.#"),
    date: shaped("1#.0#.2026", "2026.0#.1#"),
    thousands: shaped("#.###.###", "#.###.###,##"),
    uuid: shaped("&&&&&&&&-&&&&-4&&&-a&&&-&&&&&&&&&&&&"),
    names: oneOf("a", "b"),
  },
};
