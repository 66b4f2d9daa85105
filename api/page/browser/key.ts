/// <reference lib="dom" />
/** The API key: from the form or the address's fragment, kept while the tab is open, and in no address that is sent. */
import { part } from './dom.ts'

const STORED = 'candlepool-key'

/** Takes the key out of `/#key=…`: neither the history nor whoever looks at the screen should have it. */
export function takeKeyFromAddress(): void {
  const fragment = new URLSearchParams(location.hash.slice(1))
  const key = fragment.get('key')?.trim()
  if (key === undefined) return
  fragment.delete('key')
  const rest = fragment.toString()
  history.replaceState(null, '', location.pathname + (rest === '' ? '' : `#${rest}`))
  if (key !== '') keepKey(key)
}

export function keptKey(): string | undefined {
  return sessionStorage.getItem(STORED) ?? undefined
}

export function keepKey(key: string): void {
  sessionStorage.setItem(STORED, key)
}

export function forgetKey(): void {
  sessionStorage.removeItem(STORED)
}

export type KeyForm = {
  /** `trouble`: what was wrong with the key that was tried. */
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
    // A header takes no other characters.
    if (!/^[\x21-\x7e]+$/.test(key)) return complain(key === '' ? 'Type a key first.' : 'That is not a key.')
    input.value = ''
    onKey(key)
  })

  function complain(trouble: string): void {
    error.textContent = trouble
    input.setAttribute('aria-invalid', 'true')
    input.focus()
  }

  return {
    show(trouble) {
      door.hidden = false
      error.textContent = ''
      input.removeAttribute('aria-invalid')
      if (trouble === undefined) input.focus()
      else complain(trouble)
    },
    hide() {
      door.hidden = true
    },
  }
}
