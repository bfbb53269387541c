//! Tables: columns as wide as their widest cell.

/// The rows below their header.
pub(crate) fn table<const N: usize>(header: [&str; N], rows: Vec<[String; N]>) -> String {
    let mut all = vec![header.map(str::to_owned)];
    all.extend(rows);
    let mut widths = [0; N];
    for row in &all {
        for (width, cell) in widths.iter_mut().zip(row) {
            *width = cell.chars().count().max(*width);
        }
    }
    let mut text = String::new();
    for row in &all {
        let cells = row.iter().zip(widths);
        let cells: Vec<String> = cells
            .map(|(cell, width)| format!("{cell:width$}"))
            .collect();
        text.push_str(cells.join("  ").trim_end());
        text.push('\n');
    }
    text
}

/// A number of bytes for people, in decimal units.
pub(crate) fn bytes_text(bytes: u64) -> String {
    let unit = |scale: u64, unit: &str| {
        let (whole, tenth) = (bytes / scale, bytes % scale * 10 / scale);
        format!("{whole}.{tenth} {unit}")
    };
    match bytes {
        0..1_000 => format!("{bytes} B"),
        1_000..1_000_000 => unit(1_000, "kB"),
        1_000_000..1_000_000_000 => unit(1_000_000, "MB"),
        _ => unit(1_000_000_000, "GB"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn columns_are_aligned_and_lines_end_without_blanks() {
        let rows = vec![["a".into(), "b".into()], ["long".into(), String::new()]];
        assert_eq!(table(["X", "Y"], rows), "X     Y\na     b\nlong\n");
    }

    #[test]
    fn bytes_have_one_decimal_in_the_largest_unit_that_fits() {
        let texts = [999, 1_000, 63_449_999, 2_050_000_000].map(bytes_text);
        assert_eq!(texts, ["999 B", "1.0 kB", "63.4 MB", "2.0 GB"]);
    }
}
