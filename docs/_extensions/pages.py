"""Pages that are written when a build starts."""


def write_pages(folder, texts):
    """Files by name, changed only where their text is new; what else is in the folder goes."""
    folder.mkdir(exist_ok=True)
    for stale in set(folder.glob("*.md")) - {folder / file for file in texts}:
        stale.unlink()
    for file, text in texts.items():
        path = folder / file
        if not path.exists() or path.read_text(encoding="utf-8") != text:
            path.write_text(text, encoding="utf-8")
