/// <reference lib="dom" />
/** The API key: from the form, or exchanged for the code of the printed link; kept while the tab is open, never in an address. */
import { part } from '../lib/dom.ts'

const STORED = 'candlepool-key'

export const NO_KEY_OF_ADDRESS = 'Addresses stay in the history, so no key is taken from one. Paste it here.'

export type TakenCode = { code?: string | undefined; hadKey: boolean }

/** Takes the code out of `/#code=…`, and removes a key that was put there by hand. */
export function takeFromAddress(): TakenCode {
  const fragment = new URLSearchParams(location.hash.slice(1))
  const code = fragment.get('code') ?? undefined
  const hadKey = fragment.has('key')
  if (code === undefined && !hadKey) return { hadKey }
  fragment.delete('code')
  fragment.delete('key')
  const rest = fragment.toString()
  history.replaceState(null, '', location.pathname + (rest === '' ? '' : `#${rest}`))
  return { code, hadKey }
}

/** Stores the key that the code is exchanged for; returns the reason where there is none. */
export async function exchangeCode(code: string): Promise<string | undefined> {
  try {
    const answer = await fetch('/page/code', {
      method: 'POST',
      headers: { 'X-Page-Code': code },
      credentials: 'omit',
      redirect: 'error',
    })
    const { key, message } = (await answer.json()) as { key?: string; message?: string }
    if (answer.ok && key !== undefined) keepKey(key)
    else return message ?? `The service answered with ${answer.status}.`
  } catch {
    return 'The service can not be reached. Open the link again, or paste the key.'
  }
}

export function keptKey(): string | undefined {
  return storage()?.getItem(STORED) ?? undefined
}

export function keepKey(key: string): void {
  storage()?.setItem(STORED, key)
}

export function forgetKey(): void {
  storage()?.removeItem(STORED)
}

/** Browsers may refuse it to a frame in a page of another site. */
function storage(): Storage | undefined {
  try {
    return sessionStorage
  } catch {
    return undefined
  }
}

/** A header takes no other characters. */
export function isKey(text: string): boolean {
  return /^[\x21-\x7e]+$/.test(text)
}

export type KeyForm = {
  /** `trouble`: error of the previous key. */
  show(trouble?: string): void
  hide(): void
}

export function openKeyForm(onKey: (key: string) => void): KeyForm {
  const door = part('door', HTMLElement)
  const input = part('key', HTMLInputElement)
  const error = part('key-error', HTMLElement)
  part('key-form', HTMLFormElement).addEventListener('submit', (event) => {
    event.preventDefault()
    const key = input.value.trim()
    if (!isKey(key)) return complain(key === '' ? 'Type a key first.' : 'That is not a key.')
    input.value = ''
    onKey(key)
  })

  function complain(trouble: string): void {
    error.textContent = trouble
    input.setAttribute('aria-invalid', 'true')
    focus()
  }

  /** A frame takes no focus from the page around it. */
  function focus(): void {
    if (window.parent === window || document.hasFocus()) input.focus()
  }

  return {
    show(trouble) {
      door.hidden = false
      error.textContent = ''
      input.removeAttribute('aria-invalid')
      if (trouble === undefined) focus()
      else complain(trouble)
    },
    hide() {
      door.hidden = true
    },
  }
}
