/** How commands are typed: by npm in the repository, by `npx` where the package is installed. */

const isInstalled = import.meta.filename.endsWith('.js')

/** The same text, with its commands as they are typed here; `text` has them as in the repository, such as `npm run keys -- list`. */
export function asTyped(text: string): string {
  return isInstalled ? asInstalled(text) : text
}

export function asInstalled(text: string): string {
  return text
    .replaceAll('npm start', 'npx candlepool start')
    .replace(/npm run (?:-s )?(\w+)( \[?)-- /g, 'npx candlepool $1$2')
    .replace(/npm run (?:-s )?(\w+)/g, 'npx candlepool $1')
}
