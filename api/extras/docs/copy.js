// BASE is where this page came from, and every snippet can be copied.
for (const code of document.querySelectorAll('.snippet code')) {
  code.textContent = code.textContent.replace('http://127.0.0.1:3000', location.origin)
}
for (const snippet of document.querySelectorAll('.snippet')) {
  const button = document.createElement('button')
  const name = `Copy ${snippet.dataset.language}`
  button.type = 'button'
  button.textContent = 'Copy'
  button.setAttribute('aria-label', name)
  button.addEventListener('click', async () => {
    const text = snippet.querySelector('code').textContent
    button.textContent = (await copied(text, snippet)) ? 'Copied' : 'Select and copy'
    setTimeout(() => {
      button.textContent = 'Copy'
    }, 2_000)
  })
  snippet.querySelector('figcaption').append(button)
}

async function copied(text, snippet) {
  try {
    await navigator.clipboard.writeText(text)
    return true
  } catch {
    // Without TLS a page has no clipboard: what is selected is copied.
    getSelection().selectAllChildren(snippet.querySelector('code'))
    return document.execCommand('copy')
  }
}
