/** The little of Markdown that our descriptions use, as HTML: headings, lists, paragraphs and `code`. */

export function escapeHtml(text: string): string {
  return text.replace(/[&<>"']/g, (character) => `&#${character.charCodeAt(0)};`)
}

/** One line or a few: no blocks. */
export function inline(text: string): string {
  return escapeHtml(text).replace(/`([^`]+)`/g, '<code>$1</code>')
}

/** Blocks are parted by blank lines; a heading's id is its text in lower case. */
export function prose(text: string): string {
  return text
    .trim()
    .split(/\n{2,}/)
    .map((block) => {
      if (block.startsWith('## ')) return heading(block.slice(3))
      if (block.startsWith('- ')) return list(block)
      return `<p>${inline(block)}</p>`
    })
    .join('\n')
}

function heading(title: string): string {
  return `<h2 id="${escapeHtml(title.toLowerCase().replaceAll(' ', '-'))}">${inline(title)}</h2>`
}

function list(block: string): string {
  const items = block
    .slice(2)
    .split('\n- ')
    .map((item) => `<li>${inline(item)}</li>`)
  return `<ul>${items.join('')}</ul>`
}
