"""Text with tags, and files: their text is translated, and all else returns as it was; needs the extra `documents`."""
