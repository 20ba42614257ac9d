#pragma once

#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <span>
#include <string>
#include <vector>

namespace waste::test {

// Writes safetensors files, right or wrong on purpose.
class SafetensorsWriter {
public:
    void add(const std::string& name, const std::string& type, std::vector<std::uint64_t> shape,
        std::vector<std::byte> bytes);
    void addF32(const std::string& name, std::vector<std::uint64_t> shape, std::span<const float> values);
    // Rounded to nearest even.
    void addBf16(const std::string& name, std::vector<std::uint64_t> shape, std::span<const float> values);

    // As published models are cut: all tensors by name, in files of about the same size, wherever that cuts.
    [[nodiscard]] std::vector<SafetensorsWriter> split(std::size_t count) const;

    [[nodiscard]] std::vector<std::string> names() const;
    [[nodiscard]] std::vector<std::byte> bytes() const; // the whole file
    void write(const std::filesystem::path& file) const;

private:
    struct Tensor {
        std::string name;
        std::string type;
        std::vector<std::uint64_t> shape;
        std::vector<std::byte> bytes;
    };
    std::vector<Tensor> m_tensors;
};

// A header in front of `dataBytes` zero bytes, as a whole file.
std::vector<std::byte> safetensorsFile(const std::string& headerJson, std::size_t dataBytes);

void writeBytes(const std::filesystem::path& file, std::span<const std::byte> bytes);
std::vector<std::byte> readBytes(const std::filesystem::path& file);

} // namespace waste::test
