/// <reference lib="dom" />
/**
 * The key that the page around the embedded chart posts: `frame.contentWindow.postMessage({ candlepoolKey }, origin)`, with the origin of
 * this service. It stays in memory. The frame itself posts nothing.
 */
import { part } from '../lib/dom.ts'
import { isKey } from './key.ts'

export type PostedKey = {
  /** Calls `onKey` with the key that has been posted already, and with later ones. */
  take(onKey: (key: string) => void): void
}

/** True where another page is around this one. */
export function isFramed(): boolean {
  return window.parent !== window
}

/** From the parent alone, where its origin is this one or one of EMBED_ORIGINS. */
export function listenForKey(): PostedKey {
  const listed = part('embed-origins', HTMLMetaElement).content.split(' ')
  let posted: string | undefined
  let take: ((key: string) => void) | undefined
  window.addEventListener('message', ({ data, origin, source }: MessageEvent<unknown>) => {
    if (!isFramed() || source !== window.parent) return
    if (origin !== location.origin && !listed.includes(origin)) return
    const key = keyOf(data)
    if (key === undefined) return
    posted = key
    take?.(key)
  })
  return {
    take(onKey) {
      take = onKey
      if (posted !== undefined) onKey(posted)
    },
  }
}

function keyOf(data: unknown): string | undefined {
  if (typeof data !== 'object' || data === null || !('candlepoolKey' in data)) return undefined
  const { candlepoolKey: key } = data
  return typeof key === 'string' && isKey(key) ? key : undefined
}
