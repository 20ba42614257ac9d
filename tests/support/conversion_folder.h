#pragma once

#include "waste/converter.h"

#include <QTemporaryDir>

#include <filesystem>
#include <string>

namespace waste::test {

// Where a test keeps its checkpoints and the containers made of them; goes with the test.
class ConversionFolder {
public:
    [[nodiscard]] std::filesystem::path place(const std::string& name) const;

private:
    QTemporaryDir m_folder;
};

// A conversion that makes the same bytes every time: the time of its creation is fixed. One thread.
ConvertOptions conversionOf(const std::filesystem::path& source, const std::filesystem::path& target);

} // namespace waste::test
