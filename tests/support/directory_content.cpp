#include "support/directory_content.h"

#include "support/safetensors_writer.h"

namespace waste::test {

DirectoryContent readDirectory(const std::filesystem::path& directory)
{
    DirectoryContent content;
    if (!std::filesystem::is_directory(directory))
        return content;
    for (const auto& entry : std::filesystem::recursive_directory_iterator(directory)) {
        if (entry.is_regular_file())
            content.emplace(entry.path().lexically_relative(directory).generic_string(), readBytes(entry.path()));
    }
    return content;
}

std::string difference(const DirectoryContent& actual, const DirectoryContent& expected)
{
    for (const auto& [name, bytes] : expected) {
        const auto found = actual.find(name);
        if (found == actual.end())
            return name + " is missing";
        if (found->second != bytes)
            return name + " has other bytes";
    }
    for (const auto& [name, bytes] : actual) {
        if (!expected.contains(name))
            return name + " should not be there";
    }
    return {};
}

} // namespace waste::test
