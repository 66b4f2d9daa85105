/// <reference lib="dom" />
/// <reference lib="dom.iterable" />
/// <reference lib="dom.asynciterable" />
/** Parts of the page, found by their id or newly made. */

type Kind<T> = { new (): T; name: string }

/** A part that the HTML is known to have. */
export function part<T extends Element>(id: string, kind: Kind<T>): T {
  const found = document.getElementById(id)
  if (found instanceof kind) return found
  throw new Error(`The page has no ${kind.name} with the id ${id}: page.html and the script differ.`)
}

export function make<Tag extends keyof HTMLElementTagNameMap>(
  tag: Tag,
  attributes: Readonly<Record<string, string>> = {},
  ...children: readonly (Node | string)[]
): HTMLElementTagNameMap[Tag] {
  const made = document.createElement(tag)
  for (const [name, value] of Object.entries(attributes)) made.setAttribute(name, value)
  made.append(...children)
  return made
}

/** What only those hear who don't see the page. */
export function say(text: string): void {
  part('said', HTMLElement).textContent = text
}

export type ButtonGroup = {
  show(value: string): void
  /** Marks the value that is asked for while another is shown. */
  want(value: string | undefined): void
}

/** Buttons of which one is pressed. */
export function openButtonGroup(group: HTMLElement, onChoose: (value: string) => void): ButtonGroup {
  const buttons = [...group.querySelectorAll('button')]
  for (const button of buttons) button.addEventListener('click', () => onChoose(button.value))
  return {
    show(value) {
      for (const button of buttons) button.setAttribute('aria-pressed', String(button.value === value))
    },
    want(value) {
      for (const button of buttons) {
        const isWanted = button.value === value && button.getAttribute('aria-pressed') !== 'true'
        button.setAttribute('aria-busy', String(isWanted))
      }
    },
  }
}
