#pragma once

#include "convert/bank_writer.h"
#include "convert/conversion_plan.h"
#include "convert/work_folder.h"
#include "waste/result.h"

#include <optional>
#include <string>

namespace waste {

// Layers that earlier runs of the same recipe have finished (spec: conversion 6). A layer is finished when
// its bank is in the container, whole, and its codebooks and errors are known: from the work folder, where
// they are written before the bank appears, or from a published container.
class LayerStore {
public:
    // What is left of a layer besides its bank.
    struct Remains {
        std::optional<FinishedLayer> layer; // empty: the layer must be converted
        std::string damage; // a sentence if that is because something of it is damaged; empty: it was not finished
    };

    // `published` is the container's manifest if it has the plan's recipe. All outlive the store.
    LayerStore(const WorkFolder& folder, const ConversionPlan& plan, const std::optional<Manifest>& published);

    // Checks everything but the bank: its records are many, see checkBank().
    [[nodiscard]] Result<Remains> find(const BankEntry& entry) const;

    // Makes the bank written at bankPath() a finished layer.
    [[nodiscard]] Status keep(const BankEntry& entry, const FinishedLayer& layer) const;
    [[nodiscard]] std::filesystem::path bankPath(const BankEntry& entry) const { return m_folder.path(entry.file); }
    [[nodiscard]] std::filesystem::path finishedPath(const BankEntry& entry) const
    {
        return m_folder.target() / entry.file;
    }

private:
    [[nodiscard]] Result<Remains> fromFolder(const BankEntry& entry) const;
    [[nodiscard]] Remains fromPublished(const BankEntry& entry) const;

    const WorkFolder& m_folder;
    const ConversionPlan& m_plan;
    const std::optional<Manifest>& m_published;
    std::string m_publishedCodebooks; // empty: not usable
};

} // namespace waste
