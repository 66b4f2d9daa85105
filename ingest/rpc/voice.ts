/**
 * The party whose word an answer is: an http and a ws address of one host name are one voice, which does not confirm itself. Two addresses
 * of one kind on a host name are two voices, since two nodes may run on one machine.
 */
import type { Client } from 'viem'

export type VoicedClient = Client & { voice?: string }

/** Undefined for a client that belongs to no endpoint. */
export function voiceOf(client: Client | undefined): string | undefined {
  return (client as VoicedClient | undefined)?.voice
}

/** The voices of addresses, in their order: the host name, with a number from the second of its kind on. */
export function voicesOf(urls: readonly string[]): string[] {
  const counts = new Map<string, number>()
  return urls.map((url) => {
    const { hostname, protocol } = new URL(url)
    const kind = `${protocol.startsWith('ws') ? 'ws' : 'http'} ${hostname}`
    const count = (counts.get(kind) ?? 0) + 1
    counts.set(kind, count)
    return count > 1 ? `${hostname} #${count}` : hostname
  })
}

/** Hosts with several voices, for a warning that one operator may run them all. Hosts of this machine are left out: there it is intended. */
export function sharedHosts(urls: readonly string[]): string[] {
  const voices = [...new Set(voicesOf(urls))]
  const hosts = voices.flatMap((voice) => (voice.endsWith(' #2') ? [voice.slice(0, -' #2'.length)] : []))
  return hosts.filter((host) => !/^(localhost|127(\.\d+){3}|\[::1\])$/.test(host))
}
