import type { Random } from "../../../support/random.ts";
import { type Templates, labelledText, pickOne, fillShape } from "./template.ts";

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

export const ipAddressTemplates: Templates = {
  positive: [
    "why does {ip} keep scanning us?",
    "ping: {four}: Host unreachable",
    "A record -> {four}\nAAAA record -> {six}",
    "ProxyPass / http://{four}/",
    "set peer {six} remote-as {port}",
    '{"clientIp": "{ip}"}',
    "banned: {four} ({small} attempts)",
    "docker run -p {four}:{port}:80 web",
    "Zugriff von {four} um {time}",
    "redis-cli -h {four} -p {port}",
    "route add {four} gw {four}",
    "Connection to [{six}]:{port} closed.",
    "x-real-ip: {ip}",
    "{four} is in the allow list, {four} is not",
    "nmap -sV {four}",
    "src={six},dst={six}",
  ],
  negative: [
    "pip install lib=={semver}",
    "firmware version {fourVersion} released",
    "bumped from version {fourVersion} to version {fourVersion}",
    "Opera/{two}.0.0.0",
    "{over} is not valid",
    "ip {over} rejected",
    "arrival {time}, departure {time}",
    "ether {mac} txqueuelen {small}",
    "RSA key {mac}:{mac}:{mac}",
    "crate::net::tcp::Stream",
    "Foo::bar(&self) -> Baz::Qux",
    "section {section} of the lease",
    "clause {section}",
    "snmpget {small}.1.3.6.1.2.1.1.{two}",
    "aspect {two}:{two}",
    "am {date} um {time}",
    "{thousands} Euro",
    "Matthew {two}:{two}-{two}",
    "driver {fourVersion}",
    "build {fourVersion} passed",
    "{uuid}",
    "C::D::E",
    "{fourVersion}.{two}",
    "std::add and std::fade",
  ],
  fillers: {
    four: labelledText(octets),
    six: labelledText(six),
    ip: labelledText((chance) => (chance.chance(0.7) ? octets(chance) : six(chance))),
    small: fillShape("##", "###", "####"),
    port: fillShape("8###", "5####"),
    two: fillShape("##"),
    semver: fillShape("#.#.#", "1#.2.#", "0.##.#"),
    fourVersion: fillShape("#.#.#.#", "1#.0.#.2", "2.1#.#.##"),
    over: fillShape("3##.1.2.3", "10.2.3.9##", "1#.4##.1.1"),
    time: fillShape("1#:2#:3#", "0#:4#"),
    mac: fillShape("&&:&&:&&:&&:&&:&&"),
    section: fillShape("#.#.#.#", "1#.#.#.#"),
    date: fillShape("1#.0#.2026", "2026.0#.1#"),
    thousands: fillShape("#.###.###", "#.###.###,##"),
    uuid: fillShape("&&&&&&&&-&&&&-4&&&-a&&&-&&&&&&&&&&&&"),
    names: pickOne("a", "b"),
  },
};
