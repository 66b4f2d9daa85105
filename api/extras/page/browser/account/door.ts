/// <reference lib="dom" />
/** The way into the page: a key of the link, of the form, or of an earlier visit of this tab. */
import { part } from '../lib/dom.ts'
import { exchangeCode, forgetKey, keepKey, keptKey, NO_KEY_OF_ADDRESS, openKeyForm, type TakenCode } from './key.ts'
import { hideNotice } from './notice.ts'

export type Door = {
  /** By the code of the link; a tab that has a key keeps it where the code has expired. */
  enter(taken: TakenCode): void
  /** Forgets the key. `trouble`: its error. */
  lock(trouble?: string): void
}

export function openDoor(on: { key(key: string): void; locked(): void }): Door {
  const form = openKeyForm((key) => {
    keepKey(key)
    open(key)
  })
  part('leave', HTMLButtonElement).addEventListener('click', () => lock())

  function open(key: string): void {
    form.hide()
    unlock(true)
    on.key(key)
  }

  function lock(trouble?: string): void {
    on.locked()
    forgetKey()
    hideNotice()
    unlock(false)
    form.show(trouble)
  }

  return {
    enter({ code, hadKey }) {
      void (async () => {
        const trouble = code === undefined ? undefined : await exchangeCode(code)
        const key = keptKey()
        if (key === undefined) lock(trouble ?? (hadKey ? NO_KEY_OF_ADDRESS : undefined))
        else open(key)
      })()
    },
    lock,
  }
}

function unlock(isOpen: boolean): void {
  for (const id of ['pickers', 'account', 'market']) part(id, HTMLElement).hidden = !isOpen
}
