"""A folder of text files."""

from __future__ import annotations

from typing import Annotated

from pydantic import Field, JsonValue

from sims.software.core.base import CoreState, CoreWorld, core_world, read, write

FileName = Annotated[str, Field(min_length=1, description="the file's name")]
Source = Annotated[str, Field(min_length=1, description="the name of the file that is there")]
Destination = Annotated[str, Field(min_length=1, description="the name that it gets")]
Content = Annotated[str, Field(description="the text")]


class Files(CoreState):
    """The text of each file, by name."""

    files: dict[str, str] = Field(
        default={
            "notes.txt": "Water the plants on Monday.\nCall the garage.",
            "meeting_notes.txt": "The budget was approved.\nThe next meeting is in March.",
        }
    )


class FileManagement(CoreWorld[Files]):
    """A folder of text files."""

    name = "core:file_management"

    def text(self, filename: str) -> str:
        """The text of a file, without which the call is refused."""
        return self.found(self.state.files, filename, "file")

    def put(self, filename: str, text: str) -> None:
        """Replace the text of a file that is there."""
        self.text(filename)
        self.state.files[filename] = text

    @write(undone_by="delete_file")
    def create_file(self, filename: FileName) -> None:
        """Create an empty file."""
        self.rename("", filename)

    def rename(self, source: str, name: str) -> None:
        """Give a text a name that is free: that of a file, or an empty one."""
        text = self.text(source) if source else ""
        self.check(name not in self.state.files, "exists", f"There is a file {name!r} already.")
        self.state.files.pop(source, None)
        self.state.files[name] = text

    @write()
    def delete_file(self, filename: FileName) -> None:
        """Delete a file."""
        self.text(filename)
        del self.state.files[filename]

    @write()
    def write_file(self, filename: FileName, content: Content) -> None:
        """Replace the text of a file that is there."""
        self.put(filename, content)

    @write()
    def append_to_file(self, filename: FileName, content: Content) -> None:
        """Add text at the end of a file that is there."""
        self.put(filename, self.text(filename) + content)

    @write()
    def clear_file(self, filename: FileName) -> None:
        """Make a file that is there empty."""
        self.put(filename, "")

    @write()
    def rename_file(self, old_name: Source, new_name: Destination) -> None:
        """Give a file another name."""
        self.rename(old_name, new_name)

    @write()
    def move_file(self, source: Source, destination: Destination) -> None:
        """Move a file to another name."""
        self.rename(source, destination)

    @write()
    def copy_file(self, source: Source, destination: Destination) -> None:
        """Copy a file; one of the destination's name is replaced."""
        self.state.files[destination] = self.text(source)

    @read
    def read_file(self, filename: FileName) -> JsonValue:
        """Tell the text of a file; null where there is none."""
        return self.state.files.get(filename)

    @read
    def list_files(self) -> JsonValue:
        """Tell the names of all files."""
        return [*self.state.files]

    @read
    def file_exists(self, filename: FileName) -> JsonValue:
        """Tell whether there is such a file."""
        return filename in self.state.files

    @read
    def get_file_size(self, filename: FileName) -> JsonValue:
        """Tell the number of characters of a file."""
        return len(self.state.files.get(filename, ""))

    @read
    def count_words(self, filename: FileName) -> JsonValue:
        """Tell the number of words of a file."""
        return len(self.state.files.get(filename, "").split())

    @read
    def search_in_file(
        self, filename: FileName, keyword: Annotated[str, Field(description="the text to look for")]
    ) -> JsonValue:
        """Tell the lines of a file that hold a keyword."""
        lines = self.state.files.get(filename, "").splitlines()
        return [line for line in lines if keyword in line]


WORLD = core_world(FileManagement, Files)
