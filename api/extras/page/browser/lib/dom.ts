/// <reference lib="dom" />
/// <reference lib="dom.iterable" />
/// <reference lib="dom.asynciterable" />
/** Elements of the page, by id or created. */

type Kind<T> = { new (): T; name: string }

/** An element that the HTML must have. */
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

/** Text for screen readers only. */
export function say(text: string): void {
  part('said', HTMLElement).textContent = text
}

export type ButtonGroup = {
  show(value: string): void
  /** Marks the requested value while another one is shown. */
  want(value: string | undefined): void
}

/** Buttons, one of them pressed. */
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
